/** Lengths of time in milliseconds, so that nobody counts the zeros of a day twice. */
export const secondMs = 1000;
export const minuteMs = 60 * secondMs;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
