/** Initials only: a picture would be loaded from another site, which the content policy forbids. */
export function Avatar({ name }: { name: string }) {
  const initials = name
    .split(/[\s@.]+/)
    .filter(Boolean)
    .slice(0, 2)
    .map((word) => word[0]?.toUpperCase())
    .join('');
  return (
    <span
      aria-hidden="true"
      className="inline-flex size-6 shrink-0 items-center justify-center rounded-full bg-held-weak text-[10px] font-semibold text-held"
    >
      {initials}
    </span>
  );
}
