/** The logo: two posts and a bar. */
export function Mark({ size = 24 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" className="shrink-0">
      <rect x="5" y="3" width="3" height="18" rx="1" className="fill-ink" />
      <rect x="15" y="3" width="3" height="18" rx="1" className="fill-ink" />
      <path d="M2.5 12h17" className="stroke-held-mark" strokeWidth="2.2" strokeLinecap="round" />
      <circle cx="20.2" cy="12" r="2.2" className="fill-held-mark" />
    </svg>
  );
}
