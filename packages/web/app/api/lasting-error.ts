import type { HoldfastError } from '@holdfast/contract/client';
import { useReducer, useRef } from 'react';

interface Result {
  readonly data: unknown;
  readonly error: HoldfastError | null;
}

interface LastingError {
  readonly error: HoldfastError | null;
  /** A retry by hand: loading is shown until the answer. */
  readonly forget: () => void;
}

/**
 * Keeps an error until the next answer. A page that refetches by itself would otherwise show loading most of the time, and
 * hardly ever the error.
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
