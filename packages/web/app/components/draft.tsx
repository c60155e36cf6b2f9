import { Fragment, type ReactNode, useState } from 'react';

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
  return (
    <div className="contents" onInput={() => setState('touched')} onSubmit={() => setState('sent')}>
      <Fragment key={shown}>{children}</Fragment>
    </div>
  );
}
