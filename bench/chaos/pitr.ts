import { runPitrChaos } from '../../packages/engine/sources/firestore/testing/pitr-chaos.ts';

/**
 * Random writes over thirty collections while captures are killed, streams cut and positions grow stale, against a
 * Firestore that keeps to what Google promises; then random instants are recovered and compared with its own history.
 */
export async function chaosPitr(options: { writes: number; kills: number; instants: number }): Promise<boolean> {
  const result = await runPitrChaos({ ...options, mode: 'as-production', log: (line) => console.log(line) });
  const { wrong, ...figures } = result;
  console.log(JSON.stringify({ name: 'chaos pitr', ...figures, wrong: wrong.length }));
  for (const sentence of wrong.slice(0, 20)) console.log(sentence);
  return wrong.length === 0 && result.differencesAtEnd === 0;
}
