import { t } from '../texts/index.ts';

/** The first match names the browser: each also lists the names of older ones. */
const browsers: readonly (readonly [mark: RegExp, name: string])[] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\bHeadlessChrome\/|\bChrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const systems: readonly (readonly [mark: RegExp, name: string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/** A readable name: "Chrome on Linux". Other programs keep their own name. */
export function nameOfAgent(userAgent: string | null): string {
  if (!userAgent) return t.account.unknownProgram;
  const find = (marks: typeof browsers) => marks.find(([mark]) => mark.test(userAgent))?.[1];
  const browser = find(browsers);
  const system = find(systems);
  if (!browser) return userAgent;
  return system ? t.account.browserOn(browser, system) : browser;
}
