import { crc32, deflateSync } from 'node:zlib';

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** Red, green, blue and opacity of each point. */
  readonly points: Buffer;
}

const coloursMax = 256;
const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** A PNG with a table of colours, a third of what a browser writes: pages have few, and edges of letters take one nearby. */
export function smallPng({ width, height, points }: Picture): Buffer {
  const colours = tableOf(points);
  const indexes = new Map(colours.map((colour, index) => [colour, index]));
  // Each row begins with the number of its filter: none.
  const rows = Buffer.alloc((width + 1) * height);
  for (let at = 0; at < width * height; at++) {
    const colour = points.readUInt32BE(at * 4) >>> 8;
    const index = indexes.get(colour) ?? nearest(colours, colour);
    indexes.set(colour, index);
    rows[Math.floor(at / width) * (width + 1) + 1 + (at % width)] = index;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Eight bits for each point, by the table.
  header.set([8, 3, 0, 0, 0], 8);
  const table = Buffer.from(colours.flatMap(partsOf));
  const data = deflateSync(rows, { level: 9, memLevel: 9 });
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('PLTE', table),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** So many that none is far from one of them: a rare colour, such as that of a warning, means more than another grey. */
function tableOf(points: Buffer): number[] {
  const counts = new Map<number, number>();
  for (let at = 0; at < points.length; at += 4) {
    const colour = points.readUInt32BE(at) >>> 8;
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const byCount = [...counts].sort(([, a], [, b]) => b - a).map(([colour]) => colour);
  for (let apart = 0; ; apart += 8) {
    const table: number[] = [];
    for (const colour of byCount) {
      if (table.length <= coloursMax && table.every((known) => distance(known, colour) > apart)) table.push(colour);
    }
    if (table.length <= coloursMax) return table;
  }
}

const partsOf = (colour: number) => [colour >>> 16, (colour >>> 8) & 0xff, colour & 0xff] as const;

function distance(one: number, other: number): number {
  const [red, green, blue] = partsOf(one);
  const [r, g, b] = partsOf(other);
  return (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
}

function nearest(colours: readonly number[], wanted: number): number {
  const distances = colours.map((colour) => distance(colour, wanted));
  return distances.indexOf(Math.min(...distances));
}

function chunk(kind: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(kind), data]);
  const around = Buffer.alloc(8);
  around.writeUInt32BE(data.length, 0);
  around.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([around.subarray(0, 4), body, around.subarray(4)]);
}
