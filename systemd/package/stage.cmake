# SPDX-License-Identifier: MIT
# Run by CPack between installing into its own folder and making the package of it: adds what one
# kind of package has and the other has not, and brings all into the form that both want.
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX})
set(doc ${root}/share/doc/${CPACK_PACKAGE_NAME})

if(CPACK_GENERATOR STREQUAL "DEB")
  configure_file(${CPACK_DISCOVERY_COPYRIGHT} ${doc}/copyright COPYONLY)
  configure_file(${CPACK_DISCOVERY_CHANGELOG} ${doc}/changelog.Debian COPYONLY)
  configure_file(${CPACK_DISCOVERY_OVERRIDES}
                 ${root}/share/lintian/overrides/${CPACK_PACKAGE_NAME} COPYONLY)
else()
  configure_file(${CPACK_DISCOVERY_LICENSE}
                 ${root}/share/licenses/${CPACK_PACKAGE_NAME}/LICENSE COPYONLY)
  # Where zsh looks if it is not Debian's, whose own folder a build on Debian has chosen.
  if(EXISTS ${root}/share/zsh/vendor-completions)
    file(RENAME ${root}/share/zsh/vendor-completions ${root}/share/zsh/site-functions)
  endif()
endif()

file(GLOB compressed ${root}/share/man/man*/* ${doc}/changelog.Debian)
if(compressed)
  execute_process(COMMAND gzip -9nf ${compressed} COMMAND_ERROR_IS_FATAL ANY)
endif()

# Whatever the umask and the checkout of whoever builds.
set(readable OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
set(runnable ${readable} OWNER_EXECUTE GROUP_EXECUTE WORLD_EXECUTE)
file(CHMOD_RECURSE ${root} FILE_PERMISSIONS ${readable} DIRECTORY_PERMISSIONS ${runnable})
file(CHMOD_RECURSE ${root}/bin ${root}/sbin PERMISSIONS ${runnable})
