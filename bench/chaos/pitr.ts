import { runPitrChaos } from '../../packages/engine/sources/firestore/testing/pitr-chaos/run.ts';
import { isForeignFirestoreInstalled } from '../../packages/engine/testing/foreign-firestore.ts';

export interface PitrChaosOptions {
  writes: number;
  kills: number;
  instants: number;
  seed: number;
  /** Against the Firestore that others wrote, which cannot be made to misbehave. */
  isForeign: boolean;
}

/**
 * Random writes over thirty collections while captures are killed, streams cut and positions grow stale, against a
 * Firestore that keeps to what Google promises; then random instants are recovered and compared with its own history, and
 * parts of the log are taken away for a comparison to find.
 */
export async function chaosPitr({ isForeign, ...options }: PitrChaosOptions): Promise<boolean> {
  if (isForeign && !isForeignFirestoreInstalled) throw new Error('The foreign Firestore is not installed here.');
  const mode = isForeign ? 'foreign' : 'as-production';
  const losses = Math.max(1, Math.round(options.instants / 10));
  const result = await runPitrChaos({ ...options, losses, mode, log: (line) => console.log(line) });
  const { wrong, ...figures } = result;
  console.log(JSON.stringify({ name: 'chaos pitr', seed: options.seed, mode, ...figures, wrong: wrong.length }));
  for (const sentence of wrong.slice(0, 20)) console.log(sentence);
  return wrong.length === 0 && result.differencesAtEnd === 0 && result.lost > 0;
}
