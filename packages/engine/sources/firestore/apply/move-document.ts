import { decodeDocument, encodeDocument } from '../../../format/document-json.ts';
import { ReferenceRewriter } from './rewrite-references.ts';

interface Move {
  /** Databases as `projects/{project}/databases/{database}`. */
  readonly from: string;
  readonly to: string;
  readonly rewriteReferences: boolean;
}

/** The same document in another database; references into its old database are rewritten if requested. */
export function moveDocument(bytes: Uint8Array, { from, to, rewriteReferences }: Move): Uint8Array {
  const { name, ...others } = decodeDocument(bytes);
  const moved = Buffer.from(encodeDocument({ ...others, name: `${to}${name.slice(from.length)}` }));
  const rewritten = rewriteReferences ? new ReferenceRewriter(from, to).rewrite(moved, 0, moved.length) : undefined;
  return rewritten ?? moved;
}
