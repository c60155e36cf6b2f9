import { useEffect, useState } from 'react';

let tell: (text: string) => void = () => undefined;

/** Says to who hears the page what others see change. */
export function announce(text: string): void {
  tell(text);
}

/** One place for all of it, there before anything is said: readers hear changes of what they know. */
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
