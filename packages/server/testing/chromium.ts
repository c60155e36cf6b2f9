import { existsSync } from 'node:fs';

/** The shell is the same browser without windows, and takes half the processor time. */
const places = [
  process.env.CHROMIUM_PATH,
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** Undefined where no browser is installed; then the tests that need one are skipped with a note. */
export const chromiumPath = places.find((path): path is string => path !== undefined && existsSync(path));
