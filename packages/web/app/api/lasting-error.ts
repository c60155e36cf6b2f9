import type { HoldfastError } from '@holdfast/contract/client';
import { useReducer, useRef } from 'react';

interface Result {
  readonly data: unknown;
  readonly error: HoldfastError | null;
}

interface LastingError {
  readonly error: HoldfastError | null;
  /** Somebody tries again: that something is on its way is seen until the answer. */
  readonly forget: () => void;
}

/**
 * What went wrong stays said until there is an answer. A page that asks again and again by itself would show for most of the
 * time that it is loading, and hardly ever why there is nothing.
 */
export function useLastingError(key: readonly unknown[], { data, error }: Result): LastingError {
  const asked = JSON.stringify(key);
  const kept = useRef({ asked, error });
  const [, drawAgain] = useReducer((times: number) => times + 1, 0);
  if (kept.current.asked !== asked || data !== undefined || error) kept.current = { asked, error };
  return {
    error: kept.current.error,
    forget: () => {
      kept.current = { asked, error: null };
      drawAgain();
    },
  };
}
