import { createContext, Fragment, type ReactNode, useCallback, useContext, useEffect, useState } from 'react';

const Refused = createContext<() => void>(() => undefined);

/** What was not saved is still theirs who typed it. */
export function useRefusal(error: unknown): void {
  const tell = useContext(Refused);
  useEffect(() => {
    if (error) tell();
  }, [error, tell]);
}

/**
 * A form that nobody has touched shows what is saved, whoever saved it. One that somebody is filling in stays theirs: what
 * happens elsewhere must not take away what they typed. Once they have saved it, it is untouched again.
 */
export function Draft({ version, children }: { version: string; children: ReactNode }) {
  const [shown, setShown] = useState(version);
  const [seen, setSeen] = useState(version);
  const [state, setState] = useState<'untouched' | 'touched' | 'sent'>('untouched');
  if (seen !== version) {
    setSeen(version);
    if (state === 'untouched') setShown(version);
    // Their own save, which shows what they typed already.
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
