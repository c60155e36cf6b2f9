import { useBlocker } from '@tanstack/react-router';
import { type ReactNode, useCallback, useRef } from 'react';
import { t } from '../texts/index.ts';
import { Confirm } from './confirm.tsx';

interface LeaveQuestion {
  /** To be drawn with the form, outside of its `<form>`. */
  question: ReactNode;
  /** What the service has taken: leaving loses it no longer. */
  keep: (values: unknown) => void;
}

interface Place {
  pathname: string;
  search: unknown;
}

/** A link within the page leaves nothing. */
const isElsewhere = (current: Place, next: Place) =>
  current.pathname !== next.pathname || JSON.stringify(current.search) !== JSON.stringify(next.search);

/** Asks before a page is left on which a secret is about to be shown, for the only time. */
export function useSecretQuestion(isComing: boolean): ReactNode {
  return useLeaveQuestion(isComing, t.common.secretComing).question;
}

/** Asks before a form is left that holds something else than it began with, or was saved with last. */
export function useLeaveQuestion(values: unknown, words = t.common.unsaved): LeaveQuestion {
  const now = JSON.stringify(values);
  const latest = useRef(now);
  const kept = useRef(now);
  latest.current = now;
  const isUnsaved = useCallback(() => latest.current !== kept.current, []);
  const shouldBlock = useCallback(
    ({ current, next }: { current: Place; next: Place }) => isUnsaved() && isElsewhere(current, next),
    [isUnsaved],
  );
  const keep = useCallback((taken: unknown) => {
    kept.current = JSON.stringify(taken);
  }, []);
  const leave = useBlocker({ shouldBlockFn: shouldBlock, enableBeforeUnload: isUnsaved, withResolver: true });
  return {
    keep,
    question: leave.status === 'blocked' && (
      <Confirm
        title={words.title}
        action={words.leave}
        cancel={words.stay}
        onConfirm={leave.proceed}
        onClose={leave.reset}
      >
        <p>{words.text}</p>
      </Confirm>
    ),
  };
}
