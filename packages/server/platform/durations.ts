import { dayMs, hourMs, secondMs } from '@holdfast/contract';

export { dayMs, hourMs, minuteMs, secondMs } from '@holdfast/contract';

/** The queue counts in seconds. */
export const hourSeconds = hourMs / secondMs;
export const daySeconds = dayMs / secondMs;

export function later(instant: Date, milliseconds: number): Date {
  return new Date(instant.getTime() + milliseconds);
}
