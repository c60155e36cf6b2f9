import { useEffect, useState } from 'react';

let tell: (text: string) => void = () => undefined;

/** Announces a change to screen readers. */
export function announce(text: string): void {
  tell(text);
}

/** One live region for all announcements, mounted early: screen readers only hear changes of regions they know. */
export function Announcer() {
  const [text, setText] = useState('');
  useEffect(() => {
    tell = setText;
  }, []);
  return (
    <p role="status" className="sr-only">
      {text}
    </p>
  );
}
