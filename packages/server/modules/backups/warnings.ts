import { type Backup, type WarningCode, warningCodes } from '@holdfast/contract';
import { oneLine } from '../../platform/one-line.ts';

/** Warnings are kept as texts, in rows and manifests alike, with their code in front. */
export function warning(code: WarningCode, message: string): string {
  return `${code}: ${message}`.slice(0, 2000);
}

/** Older warnings without a code are shown as notes. */
export function presentWarning(text: string): Backup['warnings'][number] {
  const line = oneLine(text, 2000);
  const [, code, message] = /^([A-Z_]+): ([\s\S]*)$/.exec(line) ?? [];
  return isCode(code) ? { code, message: message ?? '' } : { code: 'NOTE', message: line };
}

function isCode(code: string | undefined): code is WarningCode {
  return (warningCodes as readonly (string | undefined)[]).includes(code);
}
