import { type DataOf, type Operations, pathOf } from '@holdfast/contract';
import { useQueryClient } from '@tanstack/react-query';
import { LogIn } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { keyOf } from '../api/calls.ts';
import { Button } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { t } from '../texts/index.ts';

type Me = DataOf<Operations['getMe']>;

/** Who is signed in now. Does not use the client, whose calls wait for this answer. */
async function askWho(): Promise<Me | undefined> {
  const response = await fetch(pathOf('getMe')).catch(() => undefined);
  return response?.ok ? ((await response.json()) as { data: Me }).data : undefined;
}

/** Covers the page, which stays mounted, until the same person has signed in again. */
export default function EndedDialog({ onEnd }: { onEnd: (isBack: boolean) => void }) {
  const before = useQueryClient().getQueryData<Me>(keyOf(undefined, 'getMe', {}));
  const [isStillOut, setStillOut] = useState(false);
  const look = async (isAsked: boolean) => {
    const now = await askWho();
    if (!now) return setStillOut(isAsked);
    // Another person must not see this page.
    if (before && now.id !== before.id) window.location.assign('/');
    else onEnd(true);
  };
  const latest = useRef(look);
  latest.current = look;
  useEffect(() => {
    const onReturn = () => void latest.current(false);
    window.addEventListener('focus', onReturn);
    document.addEventListener('visibilitychange', onReturn);
    return () => {
      window.removeEventListener('focus', onReturn);
      document.removeEventListener('visibilitychange', onReturn);
    };
  }, []);
  const words = t.signIn.endedWhileTyping;
  return (
    <Dialog
      title={words.title}
      covers
      onClose={() => void look(true)}
      footer={
        <>
          <Button onClick={() => onEnd(false)}>{words.leave}</Button>
          <Button onClick={() => void look(true)}>{words.back}</Button>
          <Button kind="primary" icon={LogIn} onClick={() => window.open('/sign-in', '_blank', 'noopener')}>
            {words.signIn}
          </Button>
        </>
      }
    >
      <p>{words.text}</p>
      <p role="status" className="text-table text-risk empty:hidden">
        {isStillOut && words.stillOut}
      </p>
    </Dialog>
  );
}
