import type { Documents } from './documents.ts';

/** A time without changes, and its contents. */
export interface Moment {
  readonly at: string;
  /** When it was changed; absent: not yet. */
  until?: string;
  readonly documents: Documents;
  /**
   * Around an interruption that is too short for a gap, only the last of several quick versions may have been captured.
   */
  isBlurred: boolean;
}

/** Interruptions of this length are not gaps. */
export const blurMs = 10_500;

/** All that is known of the contents over time. */
export class Moments {
  readonly all: Moment[] = [];

  /** Called before something is changed. */
  close(): void {
    const last = this.all.at(-1);
    if (last) last.until ??= new Date().toISOString();
  }

  blurLast(): void {
    this.close();
    for (const moment of this.all) if (Date.parse(moment.at) > Date.now() - blurMs) moment.isBlurred = true;
  }

  /** A moment with known contents, at an instant so far into it. */
  pick(pick: number, percent: number): Moment | undefined {
    const exact = this.all.filter(({ isBlurred }) => !isBlurred);
    const moment = exact[pick % exact.length];
    if (!moment) return undefined;
    const [from, through] = [Date.parse(moment.at), Date.parse(moment.until ?? moment.at)];
    const at = new Date(Math.floor(from + ((through - from) * percent) / 100)).toISOString();
    return { ...moment, at };
  }

  /** The contents at each of these instants, as far as they are known. */
  at(instants: readonly string[]): Moment[] {
    return instants.flatMap((instant) => {
      const ms = Date.parse(instant);
      const isWithin = ({ at, until }: Moment) => Date.parse(at) <= ms && ms < Date.parse(until ?? at);
      const moment = this.all.find((one) => !one.isBlurred && isWithin(one));
      return moment ? [{ ...moment, at: instant }] : [];
    });
  }
}
