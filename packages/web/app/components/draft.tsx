import { createContext, Fragment, type ReactNode, useCallback, useContext, useEffect, useState } from 'react';

const Refused = createContext<() => void>(() => undefined);

/** A refused save counts as an edit: the input stays. */
export function useRefusal(error: unknown): void {
  const tell = useContext(Refused);
  useEffect(() => {
    if (error) tell();
  }, [error, tell]);
}

/**
 * A form without edits follows the saved values, whoever saves them. Once somebody edits it, their input stays, whatever is
 * saved elsewhere. After they have saved it, it counts as unedited again.
 */
export function Draft({ version, children }: { version: string; children: ReactNode }) {
  const [shown, setShown] = useState(version);
  const [seen, setSeen] = useState(version);
  const [state, setState] = useState<'untouched' | 'touched' | 'sent'>('untouched');
  if (seen !== version) {
    setSeen(version);
    if (state === 'untouched') setShown(version);
    // It was their own save; the form shows it already.
    if (state === 'sent') setState('untouched');
  }
  const refused = useCallback(() => setState('touched'), []);
  return (
    <div className="contents" onInput={() => setState('touched')} onSubmit={() => setState('sent')}>
      <Refused value={refused}>
        <Fragment key={shown}>{children}</Fragment>
      </Refused>
    </div>
  );
}
