import { expect, test } from 'vitest';
import { runPitrChaos } from '../testing/pitr-chaos.ts';

/** The long version is `npm run chaos -- pitr`. */
for (const mode of ['as-production', 'generous'] as const) {
  test(`whatever happens to capture, every instant is the database, or lies in a gap that was told (${mode})`, async () => {
    const result = await runPitrChaos({ writes: 1_000, kills: 4, instants: 40, mode });
    expect(result.wrong).toEqual([]);
    expect(result.differencesAtEnd).toBe(0);
    expect(result.kills).toBe(4);
    expect(result.compared).toBeGreaterThan(0);
  }, 120_000);
}
