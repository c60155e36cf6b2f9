/**
 * Loaded before the service (`node --import`): the process believes in a clock that is wrong by some seconds, and that
 * jumps every now and then, back as well as forward. Timers are not touched.
 */
const skewMsMax = Number(process.env.CLOCK_SKEW_MS_MAX ?? 0);
const jumpEveryMs = 20_000;

const RealDate = Date;
const realNow = Date.now.bind(Date);
const anySkewMs = () => Math.round((Math.random() * 2 - 1) * skewMsMax);
let skewMs = anySkewMs();
setInterval(() => {
  skewMs = anySkewMs();
}, jumpEveryMs).unref();

class SkewedDate extends RealDate {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(realNow() + skewMs);
    else super(...(given as [number]));
  }

  static override now(): number {
    return realNow() + skewMs;
  }
}

globalThis.Date = SkewedDate as DateConstructor;
