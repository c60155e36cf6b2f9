import { Link } from '@tanstack/react-router';
import { ChevronRight, Clock, CornerDownRight, MapPin } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useZone } from '../api/organization.tsx';
import { formatBytes, formatCount } from '../format/numbers.ts';
import { formatDateTime } from '../format/times.ts';
import {
  databaseOfReference,
  doubleText,
  entriesOf,
  type FirestoreValue,
  hintOf,
  pathOfReference,
  typeOf,
} from '../format/values.ts';
import { t } from '../texts/index.ts';
import { Exact } from './exact.tsx';

interface ValueProps {
  value: FirestoreValue;
  /** Builds the link for a reference, where it can be followed. */
  linkTo?: ((name: string) => string | undefined) | undefined;
  isOpen?: boolean | undefined;
  onToggle?: (() => void) | undefined;
}

/** One exact value with its type; nothing is rounded. */
export function Value({ value, linkTo, isOpen, onToggle }: ValueProps): ReactNode {
  const zone = useZone();
  if (value.stringValue !== undefined) return <Text text={value.stringValue} />;
  if (value.integerValue !== undefined) return <code className="font-mono">{value.integerValue}</code>;
  if (value.doubleValue !== undefined) return <code className="font-mono">{doubleText(value.doubleValue)}</code>;
  if (value.booleanValue !== undefined) return <code className="font-mono">{String(value.booleanValue)}</code>;
  if (value.timestampValue !== undefined) return <Timestamp text={value.timestampValue} zone={zone} />;
  if (value.referenceValue !== undefined)
    return <Reference name={value.referenceValue} to={linkTo?.(value.referenceValue)} />;
  if (value.geoPointValue !== undefined)
    return (
      <span className="inline-flex items-center gap-1.5 align-top">
        <MapPin size={14} aria-hidden className="shrink-0 text-ink3" />
        {degrees(value.geoPointValue.latitude, 'N', 'S')}, {degrees(value.geoPointValue.longitude, 'E', 'W')}
      </span>
    );
  if (value.bytesValue !== undefined) return <Bytes base64={value.bytesValue} />;
  if (value.mapValue !== undefined || value.arrayValue !== undefined)
    return <Folded value={value} isOpen={isOpen} onToggle={onToggle} />;
  return <code className="font-mono italic">null</code>;
}

/** A link when it points into the same database, else plain text. */
function Reference({ name, to }: { name: string; to: string | undefined }) {
  const look = 'min-w-0 break-all font-mono';
  return (
    <span className="inline-flex min-w-0 items-center gap-1.5 align-top text-held">
      <CornerDownRight size={14} aria-hidden className="shrink-0" />
      {to ? (
        <Link to={to} className={`${look} underline decoration-1 underline-offset-2`}>
          <Exact text={pathOfReference(name)} />
        </Link>
      ) : (
        <span className="min-w-0" title={name}>
          <code className={look}>
            <Exact text={pathOfReference(name)} />
          </code>{' '}
          <span className="break-all text-ink3 text-meta">{t.common.inDatabase(databaseOfReference(name))}</span>
        </span>
      )}
    </span>
  );
}

function Folded({ value, isOpen, onToggle }: ValueProps) {
  const entries = entriesOf(value);
  const size = entries ? entries.length : Object.keys(value.mapValue?.fields ?? {}).length;
  const content = (
    <>
      <ChevronRight size={14} aria-hidden className={`shrink-0 text-ink2 ${isOpen ? 'rotate-90' : ''}`} />
      <code className="font-mono">{entries ? `[${size}]` : `{${size}}`}</code>
      <span className="truncate text-ink2">
        <Exact text={hintOf(value)} />
      </span>
    </>
  );
  const look = 'inline-flex min-w-0 max-w-full items-center gap-1.5 align-top';
  if (!onToggle || size === 0) return <span className={look}>{content}</span>;
  return (
    <button type="button" aria-expanded={isOpen ?? false} onClick={onToggle} className={`${look} rounded-tag`}>
      {content}
    </button>
  );
}

/** A string may be a megabyte long, which is slow to draw: only its beginning is shown at first. */
const shownCharacters = 4000;

function Text({ text: whole }: { text: string }) {
  const [isWhole, setWhole] = useState(whole.length <= shownCharacters);
  const text = isWhole ? whole : whole.slice(0, shownCharacters);
  return (
    <code className="break-words font-mono">
      <span className="text-ink3">"</span>
      {text.split('\n').map((line, index, all) => (
        <span key={index}>
          <Exact text={line} />
          {index < all.length - 1 && <span className="text-ink3">↵</span>}
        </span>
      ))}
      {isWhole ? (
        <span className="text-ink3">"</span>
      ) : (
        <button
          type="button"
          onClick={() => setWhole(true)}
          className="font-medium font-sans text-held hover:underline"
        >
          … {t.common.showAllCharacters(formatCount(whole.length))}
        </button>
      )}
    </code>
  );
}

function Timestamp({ text, zone }: { text: string; zone: string }) {
  const rest = /\.\d+/.exec(text)?.[0] ?? '';
  return (
    <span className="inline-flex items-center gap-1.5 align-top" title={text}>
      <Clock size={14} aria-hidden className="shrink-0 text-ink3" />
      <span>
        {formatDateTime(text, zone)}
        <span className="text-ink3">{rest}</span>
      </span>
    </span>
  );
}

const shownBytes = 12;

function Bytes({ base64 }: { base64: string }) {
  const size = Math.floor((base64.replace(/=+$/, '').length * 3) / 4);
  const start = atob(base64.slice(0, Math.ceil(shownBytes / 3) * 4));
  const hex = Array.from(start.slice(0, shownBytes), (char) => char.charCodeAt(0).toString(16).padStart(2, '0')).join(
    '',
  );
  return (
    <span>
      {formatBytes(size)}{' '}
      <code className="font-mono text-ink3">
        {hex.replace(/(.{8})(?=.)/g, '$1 ')}
        {size > shownBytes ? '…' : ''}
      </code>
    </span>
  );
}

function degrees(value: number, positive: string, negative: string): string {
  return `${Math.abs(value)}° ${value < 0 ? negative : positive}`;
}

export function TypeName({ value }: { value: FirestoreValue }) {
  return <span className="text-meta text-ink3">{typeOf(value)}</span>;
}
