import { lazy, Suspense, useEffect, useState } from 'react';
import { whenSignedOut } from '../api/client.ts';

const EndedDialog = lazy(() => import('./ended-dialog.tsx'));

/** Pages that need no session. */
const isOpenToAll = (path: string) => /^\/(sign-in|auth\/|invitations\/)/.test(path);

/**
 * What happens when the session ends: the page leads to the sign-in, unless there is unsaved input. Then the page stays behind
 * a dialog until the person has signed in again.
 */
export function SessionEnd({ onLeave }: { onLeave: () => void }) {
  const [answer, setAnswer] = useState<((isBack: boolean) => void) | null>(null);
  useEffect(() => {
    let typedAt: string | undefined;
    const remember = ({ target }: Event) => {
      if (!(target instanceof HTMLInputElement && target.type === 'search')) typedAt = window.location.pathname;
    };
    document.addEventListener('input', remember);
    whenSignedOut(async () => {
      const { pathname } = window.location;
      if (isOpenToAll(pathname)) return false;
      if (typedAt === pathname && (await new Promise<boolean>((resolve) => setAnswer(() => resolve)))) return true;
      onLeave();
      return false;
    });
    return () => document.removeEventListener('input', remember);
  }, [onLeave]);
  if (!answer) return null;
  return (
    <Suspense>
      <EndedDialog
        onEnd={(isBack) => {
          setAnswer(null);
          answer(isBack);
        }}
      />
    </Suspense>
  );
}
