import { InvalidArgumentError } from 'commander';

export interface ObjectLock {
  readonly mode: 'governance' | 'compliance';
  readonly days: number;
}

export function parseObjectLock(text: string): ObjectLock {
  const [, mode, days] = /^(governance|compliance):(\d{1,5})$/.exec(text) ?? [];
  if (mode === undefined) throw new InvalidArgumentError('It must be governance:<days> or compliance:<days>.');
  return { mode: mode as ObjectLock['mode'], days: Number(days) };
}
