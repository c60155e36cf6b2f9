// @module-tag long
import { expect, test } from 'vitest';
import { foreignNamed } from '../../../testing/foreign-firestore.ts';
import { runPitrChaos } from '../testing/pitr-chaos/run.ts';

/** The long version is `npm run chaos -- pitr`. */
const settings = { writes: 500, kills: 4, instants: 20, losses: 3, seed: 17 };

const foreign = foreignNamed('fireemu');

for (const mode of ['as-production', 'generous', foreign] as const) {
  const [name, isHere] = typeof mode === 'string' ? [mode, true] : [mode.name, mode.isInstalled];
  test.skipIf(!isHere)(
    `whatever happens to capture, every instant is the database, or lies in a gap that was told, and a comparison finds each loss (${name})`,
    async () => {
      const result = await runPitrChaos({ ...settings, mode });
      expect(result.wrong).toEqual([]);
      expect(result.differencesAtEnd).toBe(0);
      expect(result.kills).toBe(4);
      expect(result.compared).toBeGreaterThan(0);
      expect(result.planted).toBe(3);
    },
  );
}
