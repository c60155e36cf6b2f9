/** What happened, how often, and every promise that was broken. */
export class Ledger {
  readonly #counts = new Map<string, number>();
  readonly #restored = new Set<string>();
  readonly wrongs: string[] = [];

  count(what: string, by = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + by);
  }

  wrong(sentence: string): void {
    this.wrongs.push(sentence);
    console.log(`WRONG at ${new Date().toISOString()}: ${sentence}`);
  }

  restored(backupId: string): void {
    this.#restored.add(backupId);
    this.count('backups restored and compared');
  }

  isRestored(backupId: string): boolean {
    return this.#restored.has(backupId);
  }

  get counts(): Record<string, number> {
    return Object.fromEntries([...this.#counts].toSorted(([left], [right]) => left.localeCompare(right)));
  }
}
