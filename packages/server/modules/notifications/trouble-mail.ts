import type { Mail } from '../../platform/mail.ts';
import type { Trouble } from './trouble-store.ts';

/** A digest lists this many one by one. */
const namedMax = 20;

export interface News {
  begun: readonly Trouble[];
  ended: readonly Trouble[];
}

/**
 * One mail for everything that is due: a single trouble in full, several as a list. Its links start at the
 * organization's home.
 */
export function troubleMail(to: string, organizationName: string, news: News, home: string): Mail {
  const all = [...news.begun, ...news.ended];
  const [only] = all;
  const single = all.length === 1 && only ? only : undefined;
  const link = single ? `${home}${single.words.page}` : home;
  const text = single ? singleText(single, news.begun.length === 1, link) : digestText(news, home);
  const footer = `You get this mail because you look after "${organizationName}" on Holdfast. Who is told of what is set in the organization's settings: ${home}/settings`;
  return {
    to,
    subject: `[${organizationName}] ${subjectOf(news, single)}`.replace(/\s+/g, ' ').slice(0, 200),
    link,
    text: `${text}\n\n${footer}\n`,
    html: toHtml(`${text}\n\n${footer}`),
  };
}

function subjectOf(news: News, single: Trouble | undefined): string {
  if (single) return news.begun.length === 1 ? single.words.title : `Over: ${single.words.title}`;
  const parts = [
    news.begun.length > 0 ? `${news.begun.length} new problem${news.begun.length > 1 ? 's' : ''}` : '',
    news.ended.length > 0 ? `${news.ended.length} over` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

function singleText(trouble: Trouble, hasBegun: boolean, link: string): string {
  const { title, detail, advice } = trouble.words;
  if (!hasBegun)
    return `It is over: ${title}.\n\nIt began at ${at(trouble.beganAt)} and ended at ${at(trouble.endedAt)}.\n\n${link}`;
  return `${title}.\n\n${detail}\n\nWhat you can do: ${advice}\n\n${link}\n\nYou will be told once more, when it is over.`;
}

function digestText({ begun, ended }: News, home: string): string {
  const line = ({ words }: Trouble) => `- ${words.title}. ${words.detail}\n  ${home}${words.page}`;
  const section = (heading: string, troubles: readonly Trouble[]) => {
    if (troubles.length === 0) return '';
    const more = troubles.length > namedMax ? `\n- and ${troubles.length - namedMax} more` : '';
    return `${heading}\n\n${troubles.slice(0, namedMax).map(line).join('\n')}${more}`;
  };
  return [section('New problems:', begun), section('Over:', ended)].filter((text) => text !== '').join('\n\n');
}

function at(date: Date | null): string {
  return date ? `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC` : 'an unknown time';
}

function toHtml(text: string): string {
  const safe = text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  const linked = safe.replace(/https?:\/\/[^\s]+/g, (url) => `<a href="${url}" style="color:#0f6b4b">${url}</a>`);
  const paragraphs = linked
    .split('\n\n')
    .map((part) => `<p style="margin:0 0 14px">${part.replaceAll('\n', '<br>')}</p>`);
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Holdfast</title></head>
<body style="margin:0;padding:24px;background:#f4f6f5;font:16px/1.55 system-ui,-apple-system,'Segoe UI',sans-serif;color:#17211d">
<div style="max-width:38rem;margin:0 auto;padding:32px;background:#ffffff;border:1px solid #dde4e0;border-radius:10px">
${paragraphs.join('\n')}
</div>
</body>
</html>
`;
}
