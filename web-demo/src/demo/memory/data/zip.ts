// Finds the files in a ZIP archive, in which ChatGPT and Claude deliver their exports.

export interface ZipFile {
  readonly name: string;
  /** In bytes, unpacked. */
  readonly size: number;
  readonly text: () => Promise<string>;
}

/** The directory is at the end, before a comment of at most 64 KiB. */
const LONGEST_END = 22 + 0xffff;
const [FILE, ENTRY, END] = [0x04034b50, 0x02014b50, 0x06054b50];
const [STORED, DEFLATED] = [0, 8];

const viewOf = async (part: Blob) => new DataView(await part.arrayBuffer());

async function unpack(archive: Blob, start: number, packed: number, method: number): Promise<string> {
  const head = await viewOf(archive.slice(start, start + 30));
  const begin = start + 30 + head.getUint16(26, true) + head.getUint16(28, true);
  const content = archive.slice(begin, begin + packed);
  if (method === STORED) return content.text();
  if (method !== DEFLATED) throw new Error("Unknown compression.");
  return new Response(content.stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
}

export const isZip = async (file: Blob): Promise<boolean> => file.size > 4 && (await viewOf(file.slice(0, 4))).getUint32(0, true) === FILE;

/** Throws if the archive is damaged, or in a form for more than 4 GiB. */
export async function readZip(archive: Blob): Promise<ZipFile[]> {
  const tail = await viewOf(archive.slice(-LONGEST_END));
  let end = tail.byteLength - 22;
  while (tail.getUint32(end, true) !== END) end -= 1;
  const begin = tail.getUint32(end + 16, true);
  const entries = await viewOf(archive.slice(begin, begin + tail.getUint32(end + 12, true)));
  const files: ZipFile[] = [];
  for (let at = 0; at < entries.byteLength; ) {
    if (entries.getUint32(at, true) !== ENTRY) throw new Error("Damaged directory.");
    const [method, packed, size, start] = [entries.getUint16(at + 10, true), entries.getUint32(at + 20, true), entries.getUint32(at + 24, true), entries.getUint32(at + 42, true)];
    const name = new TextDecoder().decode(new Uint8Array(entries.buffer, at + 46, entries.getUint16(at + 28, true)));
    files.push({ name, size, text: () => unpack(archive, start, packed, method) });
    at += 46 + entries.getUint16(at + 28, true) + entries.getUint16(at + 30, true) + entries.getUint16(at + 32, true);
  }
  return files;
}
