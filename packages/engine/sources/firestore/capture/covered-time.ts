/** How far a capture has come, and what it reports about its stretches. */

import type { CaptureGap, CaptureOptions, ChangeBatch, Instant } from '../../../ports/index.ts';
import { isInScope } from '../scan/scope.ts';
import { type Change, encodeChanges } from './changes.ts';
import type { CollectionGroups, NewGroup } from './groups.ts';

export class CoveredTime {
  readonly #options: CaptureOptions;
  readonly #groups: Pick<CollectionGroups, 'ids' | 'canProve'>;
  #through: Instant;
  /** Belongs to #through. */
  #resumeToken: Buffer | undefined;
  /** The last instant at which all collections were known; a collection found later was missed since then. */
  #provedThrough: Instant;
  #lateGroups: string[] = [];
  #isBetweenMarks: boolean;

  constructor(options: CaptureOptions, groups: Pick<CollectionGroups, 'ids' | 'canProve'>) {
    this.#options = options;
    this.#groups = groups;
    this.#through = options.from;
    this.#provedThrough = options.position?.provedThrough ?? options.from;
    this.#isBetweenMarks = options.position?.isBetweenMarks ?? options.isBetweenMarks ?? false;
    const token = options.position?.resumeToken ?? null;
    this.#resumeToken = token === null ? undefined : Buffer.from(token, 'base64');
  }

  get through(): Instant {
    return this.#through;
  }

  get provedThrough(): Instant {
    return this.#provedThrough;
  }

  get resumeToken(): Buffer | undefined {
    return this.#resumeToken;
  }

  /** Whether changes before #through are still to be reported after it. */
  get isBetweenMarks(): boolean {
    return this.#isBetweenMarks;
  }

  get lateGroups(): readonly string[] {
    return this.#lateGroups;
  }

  /**
   * In one step: if a late group were listened to before it is marked as late, what was missed of it would stay hidden.
   */
  addGroups(groups: CollectionGroups, found: readonly NewGroup[]): void {
    for (const { id, isLate } of found) {
      groups.add(id);
      if (isLate) this.#lateGroups.push(id);
      // The current token does not cover the new group.
      this.#resumeToken = undefined;
    }
  }

  proved(at: Instant): void {
    if (at > this.#provedThrough) this.#provedThrough = at;
  }

  /** After a full scan no group is late. */
  forgetLateGroups(): void {
    this.#lateGroups = [];
  }

  gap(from: Instant, through: Instant, reason: string): CaptureGap {
    const { knownNames } = this.#options;
    return { from, through, reason, ...(knownNames === undefined ? { deletionsUnknown: true as const } : {}) };
  }

  stretch(
    changes: readonly Change[],
    through: Instant,
    marks: readonly Instant[],
    more: { readonly gap?: CaptureGap | undefined; readonly resumeToken?: Buffer | undefined } = {},
  ): ChangeBatch {
    const own = changes.filter((change) => isInScope(this.#options.scope, change.path));
    const coveredFrom = this.#through;
    const gap = this.#withLateGroups(more.gap, through);
    this.#through = through;
    this.#resumeToken = more.resumeToken;
    this.#isBetweenMarks = !marks.includes(through);
    return {
      records: encodeChanges(own),
      coveredFrom,
      coveredThrough: through,
      marks: marks.filter((mark) => mark > coveredFrom && mark <= through),
      position: {
        collectionIds: this.#groups.ids,
        provedThrough: this.#provedThrough,
        resumeToken: more.resumeToken?.toString('base64') ?? null,
        ...(this.#isBetweenMarks ? { isBetweenMarks: true as const } : {}),
      },
      ...(gap === undefined ? {} : { gap }),
    };
  }

  #withLateGroups(given: CaptureGap | undefined, through: Instant): CaptureGap | undefined {
    if (this.#lateGroups.length === 0) return given;
    const gap = given?.isBrief ? undefined : given;
    const reason = `Collections were found late: ${this.#lateGroups.join(', ')}.`;
    this.#lateGroups = [];
    const { knownCollectionIds, knownNames, position } = this.#options;
    // A collection that was unknown at the start had no documents then, so none can have been deleted since.
    const knewAll = (knownCollectionIds ?? knownNames ?? position) !== undefined;
    const from = gap !== undefined && gap.from < this.#provedThrough ? gap.from : this.#provedThrough;
    // If some collections were unknown there may be more, until a proof shows otherwise. If no proof is possible, this
    // is all that can be known.
    if (!this.#groups.canProve) this.#provedThrough = through;
    const late = { from, through: gap !== undefined && gap.through > through ? gap.through : through };
    const reasons = gap === undefined ? reason : `${gap.reason} ${reason}`;
    const isUnknown = gap?.deletionsUnknown === true || !knewAll;
    return { ...late, reason: reasons, ...(isUnknown ? { deletionsUnknown: true as const } : {}) };
  }
}
