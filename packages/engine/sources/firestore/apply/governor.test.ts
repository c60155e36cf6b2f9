import { describe, expect, test } from 'vitest';
import { Governor, rampedSeconds } from './governor.ts';

const minuteMs = 60_000;

describe('the pace of writing', () => {
  test('ramps up as Firestore asks for: 500 a second, half as much again every five minutes', () => {
    let nowMs = 0;
    const governor = new Governor(true, () => nowMs);
    const rates = [0, 4.9, 5, 10, 30].map((minutes) => {
      nowMs = minutes * minuteMs;
      return Math.round(governor.ratePerSecond);
    });
    expect(rates).toEqual([500, 500, 750, 1125, 5695]);
  });

  test('is shared by those who write together: their parts are never more than one alone may, and the ramp is as old as the first', () => {
    const alone = new Governor(true, () => 0);
    const shares = [0.5, 0.25, 0.25].map(
      (share) =>
        new Governor(
          true,
          () => 0,
          () => ({ elapsedMs: 0, share }),
        ),
    );
    const rates = shares.map(({ ratePerSecond }) => ratePerSecond);
    expect(rates).toEqual([250, 125, 125]);
    expect(rates.reduce((sum, rate) => sum + rate, 0)).toBe(alone.ratePerSecond);
    const late = new Governor(
      true,
      () => 0,
      () => ({ elapsedMs: 5 * minuteMs, share: 1 / 32 }),
    );
    expect(late.ratePerSecond).toBeCloseTo(750 / 32, 6);
    late.pushedBack();
    expect(late.ratePerSecond).toBeLessThanOrEqual(750 / 32);
  });

  test('gives way while the database pushes back, and recovers with success', () => {
    let nowMs = 0;
    const governor = new Governor(true, () => nowMs);
    governor.pushedBack();
    const once = governor.ratePerSecond;
    expect(once).toBeLessThan(500);
    governor.pushedBack();
    expect(governor.ratePerSecond).toBe(once);
    nowMs += 300;
    governor.pushedBack();
    expect(governor.ratePerSecond).toBeLessThan(once);
    for (let count = 0; count < 2_000; count += 1) governor.succeeded();
    expect(governor.ratePerSecond).toBe(500);
  });

  test('never stops altogether, however long the storm', () => {
    let nowMs = 0;
    const governor = new Governor(true, () => nowMs);
    for (let count = 0; count < 100; count += 1) {
      nowMs += 300;
      governor.pushedBack();
    }
    expect(governor.ratePerSecond).toBeGreaterThanOrEqual(50);
    expect(governor.writesPerRequestMax).toBeGreaterThanOrEqual(20);
  });

  test('without ramp-up requests are as large as they may be, and only so many are under way', async () => {
    const governor = new Governor(false);
    expect(governor.writesPerRequestMax).toBe(500);
    for (let count = 0; count < 16; count += 1) await governor.enter(500, 1_000, undefined);
    let entered = false;
    const waiting = governor.enter(500, 1_000, undefined).then(() => {
      entered = true;
    });
    await Promise.resolve();
    expect(entered).toBe(false);
    governor.leave(1_000);
    await waiting;
    expect(entered).toBe(true);
  });

  test('large requests wait for each other, so that memory stays bounded', async () => {
    const governor = new Governor(false);
    const large = 15 * 1024 * 1024;
    await governor.enter(500, large, undefined);
    await governor.enter(500, large, undefined);
    let entered = false;
    void governor.enter(500, large, undefined).then(() => {
      entered = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(entered).toBe(false);
  });

  test('how long writes take follows from the ramp', () => {
    expect(rampedSeconds(100_000, 5000)).toBe(200);
    // 500, 750 and 1125 a second for five minutes each, the rest at 1687.5.
    expect(rampedSeconds(1_000_000, 5000)).toBeCloseTo(900 + 287_500 / 1687.5, 6);
    expect(rampedSeconds(1000, 100)).toBe(10);
  });
});
