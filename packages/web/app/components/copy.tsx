import { Check, Copy } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { shortenId } from '../format/numbers.ts';
import { t } from '../texts/index.ts';
import { announce } from './announcer.tsx';
import { Button } from './button.tsx';

const shownMs = 1500;

/** Copies to the clipboard and confirms for a moment. */
function useCopy(text: string, onCopied?: () => void): [done: boolean, copy: () => Promise<void>] {
  const [done, setDone] = useState(false);
  const copy = async () => {
    const isCopied = await write(text);
    announce(isCopied ? t.common.copied : t.common.notCopied);
    if (!isCopied) return;
    setDone(true);
    onCopied?.();
    setTimeout(() => setDone(false), shownMs);
  };
  return [done, copy];
}

/** Without HTTPS browsers refuse the clipboard API; copying a selection still works. */
async function write(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const before = document.activeElement;
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'sr-only';
    // Text outside of an open dialog cannot be selected.
    (before?.closest('dialog') ?? document.body).append(area);
    area.select();
    const isCopied = document.execCommand('copy');
    area.remove();
    if (before instanceof HTMLElement) before.focus();
    return isCopied;
  }
}

/** A copy button with a text label. */
export function CopyTextButton({ text, children }: { text: string; children: ReactNode }) {
  const [done, copy] = useCopy(text);
  return (
    <Button icon={done ? Check : Copy} onClick={() => void copy()}>
      {done ? t.common.copied : children}
    </Button>
  );
}

interface CopyButtonProps {
  text: string;
  label?: string;
  onCopied?: () => void;
}

export function CopyButton({ text, label = t.common.copy, onCopied }: CopyButtonProps) {
  const [done, copy] = useCopy(text, onCopied);
  const Icon = done ? Check : Copy;
  return (
    <button
      type="button"
      onClick={copy}
      aria-label={done ? t.common.copied : label}
      title={done ? t.common.copied : label}
      className="touch inline-flex size-6 shrink-0 items-center justify-center rounded-tag text-ink3 hover:bg-sunken hover:text-ink"
    >
      <Icon size={14} aria-hidden />
    </button>
  );
}

/** An id, shortened in the middle, copied in full. */
export function Id({ id, keep }: { id: string; keep?: number }) {
  return (
    <span className="inline-flex items-center gap-1">
      <code className="font-mono text-meta text-ink2" title={id}>
        {shortenId(id, keep)}
      </code>
      <CopyButton text={id} label={t.common.copyId} />
    </span>
  );
}
