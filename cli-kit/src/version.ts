/** The version of KIM, as `--version` prints it. A test compares it with each package.json. */
export const VERSION = '0.1.0'
