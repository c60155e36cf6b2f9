import type { ItemOf, Operations } from '@holdfast/contract';

export type KnownVersion = ItemOf<Operations['listDocumentVersions']>;
type Origin = Pick<KnownVersion, 'source' | 'backupId'>;

/** How a document was at one time, as somebody saw it. */
export type Sighting = Origin & { at: string } & (
    | { kind: 'present'; updateTime: string; isFirst: boolean }
    | { kind: 'absent'; isExact: boolean }
  );

/** What the newest sighting so far said. Small and plain, so that it travels in a cursor. */
export type TimelineState =
  | { kind: 'unknown' }
  | { kind: 'present'; updateTime: string }
  | { kind: 'absent'; at: string; origin: Origin; isTold: boolean };

/**
 * Makes versions of sightings, newest first. A version seen in several places is told once, by the first who saw it. A
 * document that was seen missing was deleted by the oldest time at which it was missing and after which it had been there.
 */
export class Timeline {
  state: TimelineState;
  /** The version that was told last: backups behind it may hold it too. */
  #last: KnownVersion | undefined;

  constructor(state: TimelineState = { kind: 'unknown' }, last?: KnownVersion) {
    this.state = state;
    this.#last = last;
  }

  add(sighting: Sighting): KnownVersion[] {
    return sighting.kind === 'present' ? this.#present(sighting) : this.#absent(sighting);
  }

  #present({ at, updateTime, isFirst, source, backupId }: Extract<Sighting, { kind: 'present' }>): KnownVersion[] {
    const told = this.#deletion();
    const isKnown = this.state.kind === 'present' && this.state.updateTime === updateTime;
    this.state = { kind: 'present', updateTime };
    if (isKnown) {
      if (this.#last) this.#last.heldBy ??= backupId;
      return told;
    }
    this.#last = { at, source, backupId, heldBy: backupId, change: isFirst ? 'created' : 'changed', updateTime };
    return [...told, this.#last];
  }

  #absent({ at, isExact, source, backupId }: Extract<Sighting, { kind: 'absent' }>): KnownVersion[] {
    if (this.state.kind === 'absent' && this.state.isTold) return [];
    this.state = { kind: 'absent', at, origin: { source, backupId }, isTold: false };
    return isExact ? this.#deletion() : [];
  }

  /** Only what was there can have been deleted, so it is told when an older sighting shows it. */
  #deletion(): KnownVersion[] {
    if (this.state.kind !== 'absent' || this.state.isTold) return [];
    this.state.isTold = true;
    return [{ at: this.state.at, ...this.state.origin, heldBy: null, change: 'deleted', updateTime: null }];
  }
}
