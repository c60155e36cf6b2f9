import { Fragment, type ReactNode, useRef, useState } from 'react';

/**
 * A form that nobody has touched shows what is saved, whoever saved it. One that somebody is filling in stays theirs: what
 * happens elsewhere must not take away what they typed.
 */
export function Draft({ version, children }: { version: string; children: ReactNode }) {
  const [shown, setShown] = useState(version);
  const isTouched = useRef(false);
  if (shown !== version && !isTouched.current) setShown(version);
  return (
    <div
      className="contents"
      onInput={() => {
        isTouched.current = true;
      }}
    >
      <Fragment key={shown}>{children}</Fragment>
    </div>
  );
}
