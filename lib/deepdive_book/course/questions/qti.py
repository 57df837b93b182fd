"""Questions as a zip of IMS QTI 1.2 (Canvas: Settings, Import Course Content, QTI .zip file)."""

import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

from deepdive_book.course.questions import Bank, Item
from deepdive_book.course.questions.html import html, inline

QTI = "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"
MANIFEST = "http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1"
_NOTED = ("question_type", "points_possible", "difficulty", "skill")


def write_qti(bank: Bank, path: Path) -> None:
    """Write manifest and assessment; the same questions give the same bytes."""
    files = {
        "imsmanifest.xml": _text(manifest(bank)),
        f"{bank.name}/{bank.name}.xml": _text(assessment(bank)),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, text in files.items():
            bundle.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text)


def manifest(bank: Bank) -> ET.Element:
    """Return the list of what the zip holds."""
    root = ET.Element("manifest", {"xmlns": MANIFEST, "identifier": f"{bank.name}_manifest"})
    about = ET.SubElement(root, "metadata")
    ET.SubElement(about, "schema").text = "IMS Content"
    ET.SubElement(about, "schemaversion").text = "1.1.3"
    ET.SubElement(root, "organizations")
    resources = ET.SubElement(root, "resources")
    one = ET.SubElement(resources, "resource", {"identifier": bank.name, "type": "imsqti_xmlv1p2"})
    ET.SubElement(one, "file", {"href": f"{bank.name}/{bank.name}.xml"})
    return root


def assessment(bank: Bank) -> ET.Element:
    """Return the questions: one assessment, one section, an item each."""
    root = ET.Element("questestinterop", {"xmlns": QTI})
    test = ET.SubElement(root, "assessment", {"ident": bank.name, "title": bank.title})
    section = ET.SubElement(test, "section", {"ident": "root_section"})
    for item in bank.items:
        section.append(_item(item))
    return root


def _item(item: Item) -> ET.Element:
    root = ET.Element("item", {"ident": item.id, "title": item.id})
    fields = ET.SubElement(ET.SubElement(root, "itemmetadata"), "qtimetadata")
    values = ("multiple_choice_question", "1", item.difficulty, item.skill)
    for label, entry in zip(_NOTED, values, strict=True):
        field = ET.SubElement(fields, "qtimetadatafield")
        ET.SubElement(field, "fieldlabel").text = label
        ET.SubElement(field, "fieldentry").text = entry

    shown = ET.SubElement(root, "presentation")
    _material(shown, html(item.stem))
    response = ET.SubElement(
        shown, "response_lid", {"ident": "response1", "rcardinality": "Single"}
    )
    choices = ET.SubElement(response, "render_choice", {"shuffle": "No"})
    for letter, option in zip("abcd", item.options, strict=True):
        _material(ET.SubElement(choices, "response_label", {"ident": letter}), inline(option.text))

    processing = ET.SubElement(root, "resprocessing")
    outcome = {"maxvalue": "100", "minvalue": "0", "varname": "SCORE", "vartype": "Decimal"}
    ET.SubElement(ET.SubElement(processing, "outcomes"), "decvar", outcome)
    for letter, option in zip("abcd", item.options, strict=True):
        then = ET.SubElement(processing, "respcondition", {"continue": "Yes"})
        chosen = ET.SubElement(then, "conditionvar")
        ET.SubElement(chosen, "varequal", {"respident": "response1"}).text = letter
        if option.right:
            ET.SubElement(then, "setvar", {"action": "Set", "varname": "SCORE"}).text = "100"
        attributes = {"feedbacktype": "Response", "linkrefid": f"{letter}_fb"}
        ET.SubElement(then, "displayfeedback", attributes)
    for letter, option in zip("abcd", item.options, strict=True):
        feedback = ET.SubElement(root, "itemfeedback", {"ident": f"{letter}_fb"})
        read = "" if option.right else inline(f" Read {item.where}.")
        _material(ET.SubElement(feedback, "flow_mat"), inline(option.why) + read)
    return root


def _material(parent: ET.Element, text: str) -> None:
    material = ET.SubElement(parent, "material")
    ET.SubElement(material, "mattext", {"texttype": "text/html"}).text = text


def _text(root: ET.Element) -> bytes:
    ET.indent(root)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="utf-8") + b"\n"
