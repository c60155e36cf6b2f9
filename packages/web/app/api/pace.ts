import { minuteMs } from '@holdfast/contract';

let isFollowing = false;

/** Whether changes are told as they happen. */
export function setFollowing(following: boolean): void {
  isFollowing = following;
}

/** How long an answer is good for: a stream can lose a change, so that pages look for themselves now and then. */
export const refetchMs = () => (isFollowing ? minuteMs : 15_000);

const pagesMax = 3;

/** Every page of a long list would be a call of its own: such a list is read again when somebody asks for it. */
export function isShort({ state }: { state: { data: unknown } }): boolean {
  const { pages } = (state.data ?? {}) as { pages?: unknown[] };
  return (pages?.length ?? 0) <= pagesMax;
}
