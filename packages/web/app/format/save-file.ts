/** Downloads a text as a file. */
export function saveFile(name: string, text: string, type: string): void {
  saveBlob(name, new Blob([text], { type }));
}

/** Downloads a stream of the API as a file. */
export async function saveStream(
  name: string,
  stream: { text(): AsyncIterable<string>; contentType: string },
): Promise<void> {
  const pieces: string[] = [];
  for await (const piece of stream.text()) pieces.push(piece);
  saveBlob(name, new Blob(pieces, { type: stream.contentType }));
}

function saveBlob(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
