"""`python -m keras_posenc`."""

import sys

from keras_posenc._command_line import main

if __name__ == "__main__":
    sys.exit(main())
