/** Lengths of time in milliseconds. Nobody counts the zeros of a day twice. */
export const secondMs = 1000;
export const minuteMs = 60 * secondMs;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** In the unit the queue wants. */
export const hourSeconds = hourMs / secondMs;
export const daySeconds = dayMs / secondMs;

export function later(instant: Date, milliseconds: number): Date {
  return new Date(instant.getTime() + milliseconds);
}
