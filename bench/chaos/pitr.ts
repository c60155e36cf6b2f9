import { runPitrChaos } from '../../packages/engine/sources/firestore/testing/pitr-chaos/run.ts';
import { foreignNamed } from '../../packages/engine/testing/foreign-firestore.ts';

export interface PitrChaosOptions {
  writes: number;
  kills: number;
  instants: number;
  seed: number;
  /** One that others wrote, which cannot be made to misbehave. */
  foreign: string | undefined;
}

/**
 * Random writes over thirty collections while captures are killed, streams cut and positions grow stale, against a
 * Firestore that keeps to what Google promises; then random instants are recovered and compared with its own history, and
 * parts of the log are taken away for a comparison to find.
 */
export async function chaosPitr({ foreign, ...options }: PitrChaosOptions): Promise<boolean> {
  const mode = foreign === undefined ? 'as-production' : foreignNamed(foreign);
  const losses = Math.max(1, Math.round(options.instants / 10));
  const result = await runPitrChaos({ ...options, losses, mode, log: (line) => console.log(line) });
  const { wrong, ...figures } = result;
  console.log(JSON.stringify({ name: 'chaos pitr', seed: options.seed, foreign, ...figures, wrong: wrong.length }));
  for (const sentence of wrong.slice(0, 20)) console.log(sentence);
  return wrong.length === 0 && result.differencesAtEnd === 0 && result.lost > 0;
}
