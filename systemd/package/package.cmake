# SPDX-License-Identifier: MIT
# What CPack has to know for the deb and the rpm (./dev package). Both have the same files at the
# same places, below the prefix that the programs and the unit were built for.
set(CPACK_GENERATOR DEB RPM)
set(CPACK_PACKAGE_NAME ${PROJECT_NAME})
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR "The dotnet-discoveryd authors")
# A Maintainer field needs an address, and the project has none: .invalid is reserved for that.
set(CPACK_PACKAGE_CONTACT "${CPACK_PACKAGE_VENDOR} <maintainers@${PROJECT_NAME}.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "discovery of .NET processes that can be diagnosed")
set(CPACK_PACKAGE_DESCRIPTION
"A daemon that tells profilers of a .NET process the moment its diagnostic
port answers. The kernel reports new processes through a BPF program: nothing
polls, and the programs need no environment variable and no restart.

Clients subscribe over Varlink or D-Bus. Every user sees its own processes;
root and the members of the group dotnet-discovery see all of them.")
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_PACKAGE_RELOCATABLE OFF)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/stage.cmake)

# ---- deb

set(scripts ${CMAKE_CURRENT_LIST_DIR}/deb)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# For the group, which the package makes when it is configured.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers | systemd-sysusers")
# The daemon serves Varlink where there is no bus.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "default-dbus-system-bus | dbus-system-bus")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${scripts}/postinst ${scripts}/prerm ${scripts}/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
configure_file(${scripts}/changelog.in ${CMAKE_CURRENT_BINARY_DIR}/changelog @ONLY)

# ---- rpm

set(scripts ${CMAKE_CURRENT_LIST_DIR}/rpm)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_RELEASE 1)
set(CPACK_RPM_PACKAGE_SUMMARY "Discovery of .NET processes that can be diagnosed")
set(CPACK_RPM_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_RPM_PACKAGE_LICENSE "MIT AND (MIT OR GPL-2.0-only)")
set(CPACK_RPM_PACKAGE_GROUP "System Environment/Daemons")
set(CPACK_RPM_PACKAGE_AUTOREQPROV ON)
set(CPACK_RPM_PACKAGE_REQUIRES_POST systemd)
set(CPACK_RPM_PACKAGE_REQUIRES_PREUN systemd)
set(CPACK_RPM_PACKAGE_REQUIRES_POSTUN systemd)
set(CPACK_RPM_POST_INSTALL_SCRIPT_FILE ${scripts}/post.sh)
set(CPACK_RPM_PRE_UNINSTALL_SCRIPT_FILE ${scripts}/preun.sh)
set(CPACK_RPM_POST_UNINSTALL_SCRIPT_FILE ${scripts}/postun.sh)
# Build id links are for debug packages, of which there is none. rpmbuild of Debian makes a database
# in the home folder. CPack has no word for Recommends.
set(CPACK_RPM_SPEC_MORE_DEFINE
"%define _build_id_links none
%define _dbpath %_topdir/rpmdb
Recommends: dbus")
set(CPACK_RPM_USER_FILELIST
    "%license ${CMAKE_INSTALL_PREFIX}/share/licenses/${PROJECT_NAME}/LICENSE")
# Folders that other packages own.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION)
foreach(folder
    sbin lib/systemd lib/systemd/catalog lib/systemd/system lib/sysusers.d
    share/bash-completion share/bash-completion/completions share/dbus-1 share/dbus-1/interfaces
    share/dbus-1/system-services share/dbus-1/system.d share/fish share/fish/vendor_completions.d
    share/licenses share/man share/man/man1 share/man/man5 share/man/man7 share/man/man8
    share/zsh share/zsh/site-functions)
  list(APPEND CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION ${CMAKE_INSTALL_PREFIX}/${folder})
endforeach()

# For stage.cmake, which has only what begins with CPACK_.
set(CPACK_DISCOVERY_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_DISCOVERY_COPYRIGHT ${CMAKE_CURRENT_LIST_DIR}/deb/copyright)
set(CPACK_DISCOVERY_OVERRIDES ${CMAKE_CURRENT_LIST_DIR}/deb/lintian-overrides)
set(CPACK_DISCOVERY_CHANGELOG ${CMAKE_CURRENT_BINARY_DIR}/changelog)

include(CPack)
