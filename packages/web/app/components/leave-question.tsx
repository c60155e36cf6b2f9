import { useBlocker } from '@tanstack/react-router';
import { type ReactNode, useCallback, useRef, useState } from 'react';
import { t } from '../texts/index.ts';
import { Confirm } from './confirm.tsx';

interface Unsaved {
  /** Render it next to the form, outside of its `<form>`. */
  question: ReactNode;
  /** Call it after a successful save: leaving loses nothing then. */
  keep: (values: unknown) => void;
}

interface Place {
  pathname: string;
  search: unknown;
}

/** A link to the same page does not leave it. */
const isElsewhere = (current: Place, next: Place) =>
  current.pathname !== next.pathname || JSON.stringify(current.search) !== JSON.stringify(next.search);

/** Asks before navigation while leaving would lose something. */
function useAsked(loses: () => boolean, words = t.common.unsaved): ReactNode {
  const shouldBlock = useCallback(
    ({ current, next }: { current: Place; next: Place }) => loses() && isElsewhere(current, next),
    [loses],
  );
  const leave = useBlocker({ shouldBlockFn: shouldBlock, enableBeforeUnload: loses, withResolver: true });
  return leave.status === 'blocked' && <LeaveQuestion words={words} onConfirm={leave.proceed} onClose={leave.reset} />;
}

interface LeaveQuestionProps {
  words: typeof t.common.unsaved;
  onConfirm: () => void;
  onClose: () => void;
}

function LeaveQuestion({ words, ...deeds }: LeaveQuestionProps) {
  return (
    <Confirm title={words.title} action={words.leave} cancel={words.stay} {...deeds}>
      <p>{words.text}</p>
    </Confirm>
  );
}

/** Asks before leaving while a secret that is shown only once was not copied yet. */
export function useSecretKept(isShown: boolean, onClose: () => void) {
  const isAtStake = useRef(isShown);
  const [isAsking, setAsking] = useState(false);
  const asked = useAsked(
    useCallback(() => isAtStake.current, []),
    t.common.secretShown,
  );
  const keep = () => {
    isAtStake.current = false;
  };
  /** Dismisses the secret. */
  const letGo = () => {
    keep();
    onClose();
  };
  return {
    keep,
    letGo,
    close: () => (isAtStake.current ? setAsking(true) : onClose()),
    question: isAsking ? (
      <LeaveQuestion words={t.common.secretShown} onConfirm={letGo} onClose={() => setAsking(false)} />
    ) : (
      asked
    ),
  };
}

/** Asks before leaving while the request that will show a secret is under way. */
export function useSecretQuestion(isComing: boolean): ReactNode {
  return useLeaveQuestion(isComing, t.common.secretComing).question;
}

/** Asks before leaving a form with unsaved input. */
export function useLeaveQuestion(values: unknown, words = t.common.unsaved): Unsaved {
  const now = JSON.stringify(values);
  const latest = useRef(now);
  const kept = useRef(now);
  latest.current = now;
  const isUnsaved = useCallback(() => latest.current !== kept.current, []);
  const keep = useCallback((taken: unknown) => {
    kept.current = JSON.stringify(taken);
  }, []);
  return { keep, question: useAsked(isUnsaved, words) };
}
