/** An element with text or with children; S3 documents need neither attributes nor mixed content. */
export interface XmlNode {
  name: string;
  text: string;
  children: XmlNode[];
}

const s3Namespace = 'http://s3.amazonaws.com/doc/2006-03-01/';
const depthMax = 16;

export function element(name: string, content: string | number | boolean | XmlNode[] = ''): XmlNode {
  return Array.isArray(content) ? { name, text: '', children: content } : { name, text: String(content), children: [] };
}

/** Leaves an element out when it has no content. */
export function optional(name: string, content: string | number | boolean | undefined): XmlNode[] {
  return content === undefined ? [] : [element(name, content)];
}

export function renderXml(root: XmlNode): string {
  const namespace = root.name === 'Error' ? '' : ` xmlns="${s3Namespace}"`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${renderNode(root, namespace)}`;
}

function renderNode(node: XmlNode, attributes = ''): string {
  const inner =
    node.children.length > 0 ? node.children.map((child) => renderNode(child)).join('') : escapeXml(node.text);
  return inner === '' ? `<${node.name}${attributes}/>` : `<${node.name}${attributes}>${inner}</${node.name}>`;
}

function escapeXml(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: keys may hold control characters; S3 sends them as references.
  return text.replace(/[<>&"\u0000-\u001f]/g, (character) =>
    character === '<'
      ? '&lt;'
      : character === '>'
        ? '&gt;'
        : character === '&'
          ? '&amp;'
          : character === '"'
            ? '&quot;'
            : `&#x${character.charCodeAt(0).toString(16)};`,
  );
}

/** Parses the plain documents that S3 requests carry; undefined for anything else. */
export function parseXml(source: string): XmlNode | undefined {
  const tokens =
    /<\?[^?]*\?>|<!--[\s\S]*?-->|<(\/?)([A-Za-z_][\w.-]*)((?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|([^<]+)|(<)/g;
  const root: XmlNode = { name: '', text: '', children: [] };
  const open: XmlNode[] = [root];
  for (const [whole, closing, name, , selfClosing, text, stray] of source.matchAll(tokens)) {
    const current = open[open.length - 1]!;
    if (stray !== undefined) return undefined;
    if (text !== undefined) {
      const plain = unescapeXml(text);
      if (plain === undefined) return undefined;
      current.text += plain;
    } else if (name === undefined) {
      if (!whole.startsWith('<?') && !whole.startsWith('<!--')) return undefined;
    } else if (closing) {
      if (open.length === 1 || current.name !== name) return undefined;
      open.pop();
    } else {
      const node: XmlNode = { name, text: '', children: [] };
      current.children.push(node);
      if (!selfClosing) open.push(node);
      if (open.length > depthMax) return undefined;
    }
  }
  const [document, ...others] = root.children;
  return open.length === 1 && others.length === 0 && root.text.trim() === '' ? document : undefined;
}

const entities: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function unescapeXml(text: string): string | undefined {
  let valid = true;
  const plain = text.replace(/&([^;&]*)(;?)/g, (_, entity: string, end: string) => {
    const number = /^#(?:x([0-9a-fA-F]{1,6})|(\d{1,7}))$/.exec(entity);
    const codePoint = number ? (number[1] ? Number.parseInt(number[1], 16) : Number(number[2])) : undefined;
    const character =
      codePoint !== undefined
        ? codePoint <= 0x10ffff
          ? String.fromCodePoint(codePoint)
          : undefined
        : entities[entity];
    if (end === '' || character === undefined) valid = false;
    return character ?? '';
  });
  return valid ? plain : undefined;
}

/** The text of a direct child, or undefined. */
export function childText(node: XmlNode, name: string): string | undefined {
  return node.children.find((child) => child.name === name)?.text;
}
