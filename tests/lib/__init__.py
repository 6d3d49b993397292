# SPDX-License-Identifier: MIT
"""What the component and the runtime tests share: the standard library only, and no sleep."""
