import type { ReactNode } from 'react';
import { t } from '../texts/index.ts';

/** Invisible characters that change the direction of the text after them. */
const turning = /([\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069])/;

/**
 * An exact text from a document. It does not change the direction of the text around it, and invisible direction marks are
 * shown by their code.
 */
export function Exact({ text }: { text: string }): ReactNode {
  if (!turning.test(text)) return <bdi>{text}</bdi>;
  return (
    <bdi>
      {text.split(turning).map((part, index) => (index % 2 === 1 ? <Turning key={index} character={part} /> : part))}
    </bdi>
  );
}

function Turning({ character }: { character: string }) {
  const number = `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
  return (
    <span
      className="mx-0.5 rounded-tag bg-risk-weak px-1 font-mono text-meta text-risk"
      title={t.common.turnsDirection}
    >
      {number}
    </span>
  );
}
