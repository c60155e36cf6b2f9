import { minuteMs } from '@holdfast/contract';

let isFollowing = false;

/** Whether the stream of changes is connected. */
export function setFollowing(following: boolean): void {
  isFollowing = following;
}

/** How often to refetch. Even with the stream connected pages refetch now and then, because it can lose a change. */
export const refetchMs = () => (isFollowing ? minuteMs : 15_000);

const pagesMax = 3;

/** A long list is not refetched by itself: each of its pages would be a call. */
export function isShort({ state }: { state: { data: unknown } }): boolean {
  const { pages } = (state.data ?? {}) as { pages?: unknown[] };
  return (pages?.length ?? 0) <= pagesMax;
}
