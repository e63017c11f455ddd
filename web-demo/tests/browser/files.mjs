// Makes files for tests of documents.

/** A PDF file with a page for each list of lines. A line is a text or `{ size, text }`; lines of 16 points are headings. */
export function pdf(pages) {
  const objects = ["<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"];
  const kids = pages.map((_, i) => `${3 + 2 * i} 0 R`).join(" ");
  objects.push(`<< /Type /Pages /Count ${pages.length} /Kids [${kids}] >>`);
  for (const lines of pages) {
    let y = 780;
    const content = lines.map((line) => {
      const { size = 11, text, gap = 0 } = typeof line === "string" ? { text: line } : line;
      y -= gap + (size > 11 ? 26 : 15);
      return `BT /F1 ${size} Tf 60 ${y} Td (${text.replace(/[()\\]/g, "\\$&")}) Tj ET\n`;
    }).join("");
    objects.push(`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 1 0 R >> >> /Contents ${objects.length + 2} 0 R >>`);
    objects.push(`<< /Length ${content.length} >>\nstream\n${content}\nendstream`);
  }
  objects.push("<< /Type /Catalog /Pages 2 0 R >>");
  let file = "%PDF-1.7\n";
  const offsets = objects.map((object, i) => {
    const at = file.length;
    file += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return at;
  });
  const start = file.length;
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.map((at) => `${String(at).padStart(10, "0")} 00000 n \n`).join("")}`;
  file += `trailer\n<< /Size ${objects.length + 1} /Root ${objects.length} 0 R >>\nstartxref\n${start}\n%%EOF\n`;
  return Buffer.from(file, "latin1");
}

const heading = (text) => ({ size: 16, text, gap: 10 });

/** A handbook of three pages. `travel`: the travel budget, in euros. */
export const handbook = (travel = 4200) => pdf([
  [
    heading("House rules"), "Quiet hours begin at ten in the evening and end at seven.", "Dogs are allowed in the office on Fridays. They stay out of the kitchen.",
    { text: "Bicycles are kept in the yard behind the building. The key hangs at the", gap: 12 }, "reception desk. Please return it on the same day.",
  ],
  [
    heading("Travel"), `The travel budget of the north office is ${travel} euros.`, "Trains are preferred to flights within the country.",
    { text: "Receipts are handed in by the end of the month. Teresa Almeida checks them.", gap: 12 },
  ],
  [heading("Illness"), "Whoever is ill calls the office before nine. A note of a doctor is needed", "from the fourth day on."],
]);
