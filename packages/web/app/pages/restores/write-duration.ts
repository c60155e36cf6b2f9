/** The service's write pace: a first rate, half as much again after every step, up to a maximum. */
const pace = { startPerSecond: 500, factor: 1.5, stepSeconds: 300, perSecondMax: 5000 };

/** How long the writes take. */
export function secondsOf(writes: number, rampsUp: boolean): number {
  if (!rampsUp) return writes / pace.perSecondMax;
  let left = writes;
  for (let step = 0; ; step++) {
    const perSecond = Math.min(pace.perSecondMax, pace.startPerSecond * pace.factor ** step);
    if (perSecond === pace.perSecondMax || left <= perSecond * pace.stepSeconds)
      return step * pace.stepSeconds + left / perSecond;
    left -= perSecond * pace.stepSeconds;
  }
}

export const { startPerSecond } = pace;
