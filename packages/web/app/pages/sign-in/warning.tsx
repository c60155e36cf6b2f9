import { TriangleAlert } from 'lucide-react';

interface WarningProps {
  title: string;
  text: string;
  code?: string;
}

/** Why signing in is impossible, and what to do. */
export function Warning({ title, text, code }: WarningProps) {
  return (
    <div role="alert" className="flex gap-3 rounded-control bg-risk-weak px-3 py-2.5 text-table">
      <TriangleAlert size={16} aria-hidden className="mt-0.5 shrink-0 text-risk" />
      <div>
        <p className="font-medium">{title}</p>
        <p className="text-ink2">{text}</p>
        {code && <p className="mt-1 font-mono text-meta text-ink2">{code}</p>}
      </div>
    </div>
  );
}
