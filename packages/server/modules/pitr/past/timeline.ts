import type { ItemOf, Operations } from '@holdfast/contract';

export type KnownVersion = ItemOf<Operations['listDocumentVersions']>;
type Origin = Pick<KnownVersion, 'source' | 'backupId'>;

/** The state of a document at one time, from one origin. */
export type Sighting = Origin & { at: string } & (
    | { kind: 'present'; updateTime: string; isFirst: boolean }
    | { kind: 'absent'; isExact: boolean }
  );

/** What the last sighting said. Small and plain, because it is stored in a cursor. */
export type TimelineState =
  | { kind: 'unknown' }
  | { kind: 'present'; updateTime: string }
  | { kind: 'absent'; at: string; origin: Origin; isListed: boolean };

/**
 * Turns sightings, newest first, into versions. A version that several origins saw is returned once, by the first one.
 * A document that was missing was deleted at the oldest time at which it was missing and before which it existed.
 */
export class Timeline {
  state: TimelineState;
  /** The last returned version: older backups may hold it too. */
  #last: KnownVersion | undefined;

  constructor(state: TimelineState = { kind: 'unknown' }, last?: KnownVersion) {
    this.state = state;
    this.#last = last;
  }

  add(sighting: Sighting): KnownVersion[] {
    return sighting.kind === 'present' ? this.#present(sighting) : this.#absent(sighting);
  }

  #present({ at, updateTime, isFirst, source, backupId }: Extract<Sighting, { kind: 'present' }>): KnownVersion[] {
    const deletion = this.#deletion();
    const isKnown = this.state.kind === 'present' && this.state.updateTime === updateTime;
    this.state = { kind: 'present', updateTime };
    if (isKnown) {
      if (this.#last) this.#last.heldBy ??= backupId;
      return deletion;
    }
    this.#last = { at, source, backupId, heldBy: backupId, change: isFirst ? 'created' : 'changed', updateTime };
    return [...deletion, this.#last];
  }

  #absent({ at, isExact, source, backupId }: Extract<Sighting, { kind: 'absent' }>): KnownVersion[] {
    if (this.state.kind === 'absent' && this.state.isListed) return [];
    this.state = { kind: 'absent', at, origin: { source, backupId }, isListed: false };
    return isExact ? this.#deletion() : [];
  }

  /** A deletion is returned only once an older sighting shows the document. */
  #deletion(): KnownVersion[] {
    if (this.state.kind !== 'absent' || this.state.isListed) return [];
    this.state.isListed = true;
    return [{ at: this.state.at, ...this.state.origin, heldBy: null, change: 'deleted', updateTime: null }];
  }
}
