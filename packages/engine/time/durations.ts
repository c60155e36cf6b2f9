/** Lengths of time in milliseconds. */
export const minuteMs = 60 * 1000;
export const hourMs = 60 * minuteMs;
