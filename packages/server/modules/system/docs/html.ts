const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => entities[character] ?? '');

/** Descriptions are plain sentences; words between backticks are code, an empty line begins a paragraph. */
export function prose(text: string): string {
  const paragraphs = text.split(/\n\n+/).map((part) => `<p>${inline(part)}</p>`);
  return paragraphs.join('');
}

export const inline = (text: string) => escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');

export const json = (value: unknown) => `<pre><code>${escapeHtml(JSON.stringify(value, null, 2))}</code></pre>`;

/** An element that a search finds by these words. */
export const searchable = (words: readonly (string | undefined)[]) =>
  escapeHtml(
    words
      .filter((word) => word !== undefined)
      .join(' ')
      .toLowerCase(),
  );
